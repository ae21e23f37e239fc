/**
 * Commands over the processes of a virtual machine: ps, pgrep, pkill and kill.
 *
 * Invariants
 * - Output has the columns of procps; the processes are data, nothing of the host is ever seen or signalled.
 * - The first process cannot be killed; what cannot be read is answered as the real command does.
 */
import type { WorldProcess } from './world.ts'

/** The result of a command. */
export interface CommandAnswer {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

const initPid = 1

/** The processes of one machine. */
export class ProcessTable {
  #processes: readonly WorldProcess[]

  constructor(processes: readonly WorldProcess[]) {
    this.#processes = processes
  }

  get processes(): readonly WorldProcess[] {
    return this.#processes
  }

  /** `ps`, with `aux`, `-e`, `-ef`, `-u USER`, `-p PID` and `-o COLUMNS`. */
  ps(given: readonly string[]): CommandAnswer {
    let chosen: readonly WorldProcess[] = this.#processes
    let columns: readonly Column[] = ['pid', 'tty', 'time', 'comm']
    let header = true
    const rest = [...given]
    for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
      if (/^-?a?ux?w*$/.test(flag) && flag !== '-u' && flag !== 'u')
        columns = ['user', 'pid', '%cpu', '%mem', 'vsz', 'rss', 'tty', 'stat', 'start', 'time', 'args']
      else if (flag === '-ef' || flag === '-eF') columns = ['user', 'pid', 'ppid', 'tty', 'time', 'args']
      else if (['-e', '-A', 'ax', '-ax', 'a', 'x'].includes(flag)) continue
      else if (flag === '-u' || flag === '-U' || flag.startsWith('--user='))
        chosen = chosen.filter(({ user }) => user === (flag.split('=')[1] ?? peek(rest)))
      else if (flag === '-p' || flag === '--pid') {
        const pids = (peek(rest) ?? '').split(/[ ,]+/)
        chosen = chosen.filter(({ pid }) => pids.includes(String(pid)))
      } else if (flag === '-C') {
        const name = peek(rest)
        chosen = chosen.filter((process) => programOf(process) === name)
      } else if (flag === '--no-headers' || flag === '--no-heading' || flag === 'h') header = false
      else if (flag === '-o' || flag === '-eo' || flag === '--format') {
        const wanted = (peek(rest) ?? '').split(',').map((name) => name.replace(/=.*$/, ''))
        if ((peek(rest) ?? '').includes('=')) header = false
        const known = wanted.map((name) => aliases[name] ?? name)
        if (!known.every(isColumn)) return wrong('ps', `unknown user-defined format specifier "${wanted}"`)
        columns = known
      } else if (flag.startsWith('--sort')) {
        const key = flag.split('=')[1] ?? peek(rest) ?? ''
        const column = aliases[key.replace(/^[+-]/, '')] ?? key.replace(/^[+-]/, '')
        if (!isColumn(column)) return wrong('ps', 'unknown sort specifier')
        const sign = key.startsWith('-') ? -1 : 1
        chosen = [...chosen].sort(
          (left, right) =>
            sign * cells[column](left).localeCompare(cells[column](right), 'en', { numeric: true }),
        )
      } else if (flag.startsWith('-')) return wrong('ps', `unsupported option ${flag}`)
      if (takesValue.has(flag)) rest.shift()
    }
    const rows = [
      ...(header ? [columns.map((column) => (column === 'args' ? 'COMMAND' : column.toUpperCase()))] : []),
      ...chosen.map((process) => columns.map((column) => cells[column](process))),
    ]
    const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0), 0))
    const lines = rows.map((row) =>
      row
        .map((cell, index) =>
          index === columns.length - 1
            ? cell
            : rightAligned.has(columns[index] ?? 'args')
              ? cell.padStart(widths[index] ?? 0)
              : cell.padEnd(widths[index] ?? 0),
        )
        .join(' '),
    )
    return {
      stdout: lines.map((line) => `${line}\n`).join(''),
      stderr: '',
      exitCode: chosen.length > 0 ? 0 : 1,
    }
  }

  /** `pgrep`, with `-c`, `-f`, `-l`, `-x` and `-u USER`. */
  pgrep(given: readonly string[]): CommandAnswer {
    const { problem, chosen, flags } = this.#matching('pgrep', given)
    if (problem !== undefined) return problem
    const exitCode = chosen.length > 0 ? 0 : 1
    if (flags.has('c')) return { stdout: `${chosen.length}\n`, stderr: '', exitCode }
    const lines = chosen.map((process) =>
      flags.has('l') ? `${process.pid} ${programOf(process)}\n` : `${process.pid}\n`,
    )
    return { stdout: lines.join(''), stderr: '', exitCode }
  }

  /** `pkill`, with a signal and the options of pgrep. */
  pkill(given: readonly string[]): CommandAnswer {
    const { problem, chosen } = this.#matching(
      'pkill',
      given.filter((word) => !signalPattern.test(word)),
    )
    if (problem !== undefined) return problem
    for (const { pid } of chosen) this.#end(pid)
    return { stdout: '', stderr: '', exitCode: chosen.length > 0 ? 0 : 1 }
  }

  /** `kill`, with a signal; `-0` only asks. */
  kill(given: readonly string[]): CommandAnswer {
    const words = [...given]
    let probe = false
    while (words[0]?.startsWith('-')) {
      const flag = words.shift()
      if (flag === '-s' || flag === '-n') probe = words.shift() === '0'
      else if (flag === '-0') probe = true
      else if (flag === '-l') return { stdout: 'HUP INT QUIT KILL TERM STOP CONT\n', stderr: '', exitCode: 0 }
    }
    if (words.length === 0)
      return { stdout: '', stderr: 'kill: usage: kill [-s sigspec] pid ...\n', exitCode: 2 }
    let stderr = ''
    for (const word of words) {
      const pid = Number(word)
      if (!/^\d+$/.test(word)) stderr += `kill: ${word.slice(0, 40)}: arguments must be process or job IDs\n`
      else if (pid === initPid) stderr += `kill: (${pid}) - Operation not permitted\n`
      else if (!this.#processes.some((process) => process.pid === pid))
        stderr += `kill: (${pid}) - No such process\n`
      else if (!probe) this.#end(pid)
    }
    return { stdout: '', stderr, exitCode: stderr === '' ? 0 : 1 }
  }

  #end(pid: number): void {
    if (pid !== initPid) this.#processes = this.#processes.filter((process) => process.pid !== pid)
  }

  #matching(
    program: string,
    given: readonly string[],
  ): { problem?: CommandAnswer; chosen: readonly WorldProcess[]; flags: ReadonlySet<string> } {
    const flags = new Set<string>()
    let user: string | undefined
    let pattern: string | undefined
    const rest = [...given]
    for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
      if (word === '-u' || word === '-U') user = rest.shift() ?? ''
      else if (/^-[cfilx]+$/.test(word)) for (const letter of word.slice(1)) flags.add(letter)
      else if (word.startsWith('-'))
        return { problem: wrong(program, `invalid option ${word}`), chosen: [], flags }
      else if (pattern === undefined) pattern = word
      else return { problem: wrong(program, 'only one pattern can be provided'), chosen: [], flags }
    }
    if (pattern === undefined && user === undefined)
      return { problem: wrong(program, 'no matching criteria specified'), chosen: [], flags }
    // Plain text with anchors only: a pattern of the agent must not be able to take forever.
    const text = (pattern ?? '').replace(/^\^|\$$/g, '')
    const exact = flags.has('x') || /^\^.*\$$/.test(pattern ?? '')
    const chosen = this.#processes.filter((process) => {
      const name = flags.has('f') ? process.command : programOf(process)
      const matches = exact
        ? name === text
        : pattern?.startsWith('^')
          ? name.startsWith(text)
          : name.includes(text)
      return matches && (user === undefined || process.user === user)
    })
    return { chosen, flags }
  }
}

const signalPattern = /^-(?:\d+|[A-Z][A-Z0-9]+)$/
const takesValue = new Set(['-u', '-U', '-p', '--pid', '-C', '-o', '-eo', '--format', '--sort'])

const cells = {
  user: ({ user }: WorldProcess) => user,
  pid: ({ pid }: WorldProcess) => String(pid),
  ppid: ({ pid }: WorldProcess) => (pid === initPid ? '0' : '1'),
  '%cpu': ({ cpu }: WorldProcess) => cpu.toFixed(1),
  '%mem': ({ memory }: WorldProcess) => memory.toFixed(1),
  vsz: ({ memory }: WorldProcess) => String(Math.round(memory * 24_000)),
  rss: ({ memory }: WorldProcess) => String(Math.round(memory * 20_480)),
  tty: () => '?',
  stat: () => 'S',
  start: () => '09:00',
  time: () => '0:00',
  comm: (process: WorldProcess) => programOf(process),
  args: ({ command }: WorldProcess) => command,
} as const
type Column = keyof typeof cells

const aliases: Readonly<Record<string, Column>> = {
  pcpu: '%cpu',
  pmem: '%mem',
  cmd: 'args',
  command: 'args',
  ucmd: 'comm',
  uname: 'user',
  euser: 'user',
}
const rightAligned: ReadonlySet<Column> = new Set(['pid', 'ppid', '%cpu', '%mem', 'vsz', 'rss'])

function isColumn(name: string): name is Column {
  return Object.hasOwn(cells, name)
}

function peek(words: readonly string[]): string | undefined {
  return words[0]
}

function programOf({ command }: WorldProcess): string {
  return command.split(' ')[0]?.split('/').at(-1) ?? ''
}

function wrong(program: string, message: string): CommandAnswer {
  return { stdout: '', stderr: `${program}: ${message.slice(0, 100)}\n`, exitCode: 2 }
}
