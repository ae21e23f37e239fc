#!/bin/bash
largest=0
for number in "$@"; do
  if [[ "$number" > "$largest" ]]; then largest=$number; fi
done
echo "$largest"
