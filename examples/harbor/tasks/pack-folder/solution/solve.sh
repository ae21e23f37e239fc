#!/bin/bash
source /solution/pack.sh
pack "$SOURCE" /app/out/pack.tar.gz
