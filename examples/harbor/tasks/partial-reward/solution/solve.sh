#!/bin/bash
touch /app/one /app/two /app/three /app/four
