#!/bin/bash
if [ "$(tr -d "[:space:]" < /app/sum.txt)" = 465 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
