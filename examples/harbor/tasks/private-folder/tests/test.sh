#!/bin/bash
if [ "$(stat -c %a /srv/private /srv/private/key /srv/private/list | tr '\n' ' ')" = '700 600 600 ' ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
