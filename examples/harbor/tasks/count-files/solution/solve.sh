#!/bin/bash
find /app/inbox -type f | wc -l > /app/count.txt
