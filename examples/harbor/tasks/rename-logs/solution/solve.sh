#!/bin/bash
cd /srv/logs
for file in *.log; do mv "$file" "$file.1"; done
