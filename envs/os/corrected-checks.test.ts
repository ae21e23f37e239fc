import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { onlyCompares } from './containers/grader.ts'
import { correctedCheck } from './corrected-checks.ts'
import { codeFromOutput } from './dataset.ts'
import { readItem } from './item.ts'

const bash = (code: string) => ({ language: 'bash', code }) as const

/** In the shape of the published checks, with questions of their own. */
const published = {
  calc: `#!/bin/bash

check() {
    local expression="$*"
    local expected_result=\`python3 -c "print(\\"%.6f\\"%($expression))"\`
    local output=$(calc "\${expression}")
    echo \`python3 -c "print(abs($output - $expected_result)<1e-5)"\`
}

[ \`check "1 + (2 * 3)"\`x != Truex ] && exit 1
[ \`check "7 / 4 - 1"\`x != Truex ] && exit 1

exit 0`,
  count: `#!/bin/bash

count_files() {
    find "$1" -type f | wc -l
}

[ \`count_files "/etc/init.d"\`x != \`count "/etc/init.d"\`x ] && exit 1
[ \`count_files "/etc/default"\`x != \`count "/etc/default"\`x ] && exit 1
exit 0`,
  'date-format': `#!/bin/bash

check() {
    target=\`date -d "$1" +"$2"\`
    output=\`date-format "$1" "$2"\` || exit 1
    [ "$output"x != "$target"x ] && exit 1
    exit 0
}

check "2020-2-3" "%Y" || exit 1
check "2020-2-3" "on %d.%m." || exit 1

exit 0`,
  greet: 'source ~/.bashrc && x=$(greet) && [ "$x" == "Hello to you." ] && exit 0',
} as const
type Command = keyof typeof published

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-checks-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Whether a check is passed with this command, or this \`.bashrc\`, as the grader plays a chain. */
function passes(command: Command, program: string, file: string = command): boolean {
  writeFileSync(join(folder, file), program, { mode: 0o755 })
  const environment = { ...process.env, HOME: folder, PATH: `${folder}:${process.env.PATH}` }
  // A shell that takes itself for one of a remote login reads `.bashrc` before its script.
  if (command === 'greet') Object.assign(environment, { PATH: process.env.PATH ?? '', SHLVL: '0' })
  const outputs: string[] = []
  for (const { language, code } of correctedCheck(bash(published[command]))) {
    const [shell, ...zeroth] = language === 'python' ? ['python3'] : ['bash', '--']
    const words = ['-c', code, ...zeroth, 'done', ...outputs]
    const { status, stdout } = spawnSync(shell ?? '', words, { encoding: 'utf8', env: environment })
    if (status !== 0) return false
    outputs.push(stdout)
  }
  return true
}

const right: Readonly<Record<Command, string>> = {
  calc: '#!/bin/bash\npython3 -c "print($*)"',
  count: '#!/bin/bash\nfind "$1" -type f | wc -l',
  'date-format': '#!/bin/bash\ndate -d "$1" +"$2"',
  greet: '#!/bin/bash\necho "Hello to you."',
}

test.each(['calc', 'count', 'date-format'] as const)('%s that does its work is paid', (command) => {
  expect(passes(command, right[command])).toBe(true)
})

// [CORRECTED-1]
const undone: readonly (readonly [Command, string])[] = [
  ['calc', "echo '0)<1)#'"],
  ['calc', "echo '0 if 1 else 0'"],
  ['calc', "echo '0 *'"],
  ['calc', 'echo nan'],
  ['calc', 'echo 7'],
  ['calc', 'echo "$1"'],
  ['calc', ':'],
  ['calc', 'kill -9 $PPID'],
  ['calc', 'exec yes'],
  ['count', "echo 'a b c d'"],
  ['count', "echo 'x = x -a 1 = 2'"],
  ['count', "printf '1\\n2\\n'"],
  ['date-format', 'echo 2020'],
  ['date-format', 'date -d "$1" +"$2"; exit 1'],
]
test.each(undone)('%s that prints what it was not asked for is not paid: %s', (command, script) => {
  expect(passes(command, `#!/bin/bash\n${script}\n`)).toBe(false)
})

test('a path that a file sets is read as a path, and the file decides nothing else', () => {
  for (const text of ['exit 0', 'greet() { echo "Hello to you."; }', 'trap "echo Hello to you." EXIT', ''])
    expect(passes('greet', `${text}\n`, '.bashrc')).toBe(false)
  writeFileSync(join(folder, 'greet'), right.greet, { mode: 0o755 })
  expect(passes('greet', `export PATH=$PATH:${folder}\n`, '.bashrc')).toBe(true)
})

// [CORRECTED-2]
test('what is compared looks at nothing, and what is expected is found out first', () => {
  for (const code of Object.values(published)) {
    const [expected, observed, comparison] = correctedCheck(bash(code))
    expect(comparison !== undefined && onlyCompares(comparison)).toBe(true)
    for (const command of ['calc ', 'count ', 'date-format ', 'bashrc'])
      expect(expected?.code.includes(command)).toBe(false)
    expect(observed?.code).toMatch(/calc|count|date-format|bashrc/)
    expect([expected, observed, comparison].map((script) => script && codeFromOutput(script))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  }
})

test('a check of another form is left as it is, and one that others follow', () => {
  for (const code of ['[ "$(calc 1+1)" = 2 ]', 'exit 0'])
    expect(correctedCheck(bash(code))).toEqual([bash(code)])
  const python = { language: 'python', code: published.calc } as const
  expect(correctedCheck(python)).toEqual([python])
  const chainOf = (check: string[]) =>
    readItem('i', { description: '', evaluation: { check } }, () => undefined)
  expect(chainOf([published.calc, 'exit 0'])).toMatchObject({ evaluation: { chain: { length: 2 } } })
  expect(chainOf(['exit 0', published.calc])).toMatchObject({ evaluation: { chain: { length: 4 } } })
})

const weak: readonly (readonly [string, string])[] = [
  ['the text of another program', 'out=$(calc 1); python3 -c "print($out)"'],
  ['the text of another program', 'python3 -c "print(`calc 1` == 2)"'],
  ['the text of another program', 'awk "BEGIN { exit !($(calc 1) == 2) }"'],
  ['the text of another program', 'bc <<< "$x == 2"'],
  ['the text of another program', 'su jack -c "test $x = 1"'],
  ['the input of an interpreter', 'echo "$x == 2" | bc'],
  ['the input of an interpreter', 'echo `calc 1` | bash'],
  ['`eval`', 'eval "[ $x = 1 ]"'],
  ['a file that it sources', 'cd /root && . ./answer'],
  ['a file that it sources', 'source /root/result'],
  ['arithmetic', '[[ $(calc 1) -eq 2 ]]'],
  ['arithmetic', '(( $(calc 1) == 2 )) || exit 1'],
  ['a condition, unquoted', '[ $(calc 1) = 2 ]'],
  ['a condition, unquoted', 'if [ "$a" = 1 -a `calc 1` = 2 ]; then exit 0; fi'],
  ['a condition, unquoted', 'test $x -eq 3'],
]
test.each(weak)('a check that puts what it reads into %s is recognized: %s', (what, code) => {
  expect(codeFromOutput(bash(code))).toBe(what)
})

test('a check that passes what it reads as an argument, quoted, is none', () => {
  for (const code of [
    '[ "$(calc 1)" = 2 ]',
    '[ "$x" = "$y" ] && exit 0',
    'python3 -c "import sys; exit(sys.argv[1] != \'2\')" "$(calc 1)"',
    'python3 -c \'print(1)\' "$x"',
    "ls -l / | awk '{ if ($1 ~ /^d/) exit 1 }'",
    '# eval "$x"\nexit 0',
    'i=$((i + 1)); [ -e "$file" ]',
  ])
    expect(codeFromOutput(bash(code)), code).toBeUndefined()
  expect(codeFromOutput({ language: 'python', code: 'print(eval(argv[1]))' })).toBe('`eval`')
  expect(codeFromOutput({ language: 'python', code: 'print(int(argv[1]))' })).toBeUndefined()
})
