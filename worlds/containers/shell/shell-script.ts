/**
 * The script of a container's shell: how it runs commands, one after the other.
 *
 * Invariants
 * - Each command is answered on both streams by a line that holds the request's own word, which no command
 *   before it could know.
 * - When the shell is interrupted (SIGUSR1), everything that is younger than the command in progress is killed,
 *   daemons included. That needs no new process, so it works where the limit of processes is reached.
 * - The out-of-memory killer takes a command before it takes the shell.
 *
 * A command starts with the signals INT and QUIT ignored where the image has no bash (POSIX, 2.11).
 */
import { shellWord } from '../../../machine/processes/typed-command.ts'

/** The signal that ends the command in progress; nothing else sends it. */
export const interruptSignal = 'SIGUSR1'

/**
 * Sent once. Commands get what were the shell's own streams; the shell itself says nothing but answers.
 * Killing takes three passes: what was being born during the first is stopped by the second. Then it waits for the dead
 * processes, except the shell's own two children: until init has reaped them, there may be no room for a new one.
 */
export const prologue = `exec 3>&1 4>&2 >/dev/null 2>&1
interrupts=0 running= before=
session=; command -v setsid && session=setsid
shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash
interrupt() {
  interrupts=$((interrupts + 1))
  [ -n "$running" ] || return
  for pass in 1 2 3; do
    kill -STOP -1
    for process in /proc/[0-9]*; do
      case "$before" in *" $process "*) ;; *) kill -KILL "\${process#/proc/}" ;; esac
    done
  done
  kill -CONT -1
  pass=0 left=9
  while [ "$left" -gt 2 ] && [ "$pass" -lt 1000 ]; do
    pass=$((pass + 1)) left=0
    for process in /proc/[0-9]*; do
      case "$before" in *" $process "*) ;; *) left=$((left + 1)) ;; esac
    done
  done
}
answer() {
  printf '\\n%s %d %d\\n' "$1" "$2" "$interrupts" >&3
  printf '\\n%s %d %d\\n' "$1" "$2" "$interrupts" >&4
}
finish() {
  while :; do
    wait "$1"; status=$?
    kill -0 "$1" || break
    [ "$status" = 127 ] && break
  done
  running=
}
trap interrupt USR1
`

export interface ShellRequest {
  /** Begins the lines that answer. */
  readonly word: string
  readonly script: string
  readonly stdin?: string | undefined
  readonly workingDirectory?: string | undefined
  readonly environment?: Readonly<Record<string, string>> | undefined
}

/** The text that runs one script. @throws RangeError for a name that no variable can have */
export function requestText({ word, script, stdin, workingDirectory, environment }: ShellRequest): string {
  const steps = ['trap - INT QUIT USR1', 'echo 1000 >/proc/self/oom_score_adj']
  for (const [name, value] of Object.entries(environment ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new RangeError(`"${name}" cannot name a variable`)
    steps.push(`export ${name}=${shellWord(value)}`)
  }
  steps.push('exec 2>&4 4>&-')
  if (workingDirectory !== undefined) steps.push(`cd -- ${shellWord(workingDirectory)} || exit`)
  steps.push(`exec $session "$shell" -c ${shellWord(script)}`)
  const input = stdin === undefined ? '' : `printf %s ${shellWord(stdin)} | `
  const source = stdin === undefined ? '</dev/null ' : ''
  return [
    'set -- /proc/[0-9]*; before=" $* "; running=1',
    `${input}( ${steps.join('; ')} ) ${source}>&3 3>&- &`,
    `finish $!; answer ${word} "$status"`,
    '',
  ].join('\n')
}

/** The text that only answers. */
export function echoText(word: string): string {
  return `answer ${word} 0\n`
}
