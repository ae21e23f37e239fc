#!/bin/bash
chmod 700 /srv/private
chmod 600 /srv/private/*
