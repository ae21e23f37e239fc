#!/bin/bash
cd /srv/logs || exit
wanted='mail.log.1 notes.txt two words.log.1 web.log.1'
if [ "$(ls | tr '\n' ' ')" = "$wanted " ] && [ "$(cat 'two words.log.1')" = 'two words' ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
