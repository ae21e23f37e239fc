#!/bin/bash
tr '[:upper:]' '[:lower:]' < /app/story.txt | grep -oE '[a-z]+' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }' > /app/word.txt
