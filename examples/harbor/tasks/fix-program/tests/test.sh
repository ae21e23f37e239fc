#!/bin/bash
largest() { timeout 5 /app/largest.sh "$@"; }
if [ "$(largest 3 20 100)" = 100 ] && [ "$(largest -5 -7)" = -5 ] && [ "$(largest 9)" = 9 ] && [ "$(largest 10 9)" = 10 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
