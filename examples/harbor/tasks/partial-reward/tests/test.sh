#!/bin/bash
made=0
for name in one two three four; do
  if [ -f "/app/$name" ]; then made=$((made + 1)); fi
done
awk -v made="$made" 'BEGIN { printf "{\"reward\": %.2f, \"files\": %d}\n", made / 4, made }' > /logs/verifier/reward.json
