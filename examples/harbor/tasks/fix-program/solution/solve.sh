#!/bin/bash
cat > /app/largest.sh <<'PROGRAM'
#!/bin/bash
largest=$1
for number in "$@"; do
  if [ "$number" -gt "$largest" ]; then largest=$number; fi
done
echo "$largest"
PROGRAM
