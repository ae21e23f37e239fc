/**
 * A database server for tests: MariaDB on a socket and a folder of its own.
 *
 * Invariants
 * - It ends with the process that started it, however that ends, and leaves no process and no file.
 * - Where it cannot be had the reason is reported, and with PERDURE_REQUIRE_DATABASE=1 that is a failure.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface TestDatabaseServer {
  /** For the setting `url`; its user may do everything. */
  readonly url: string
  /** Stops the server's process where it is, or resumes it. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  close(): Promise<void>
}

/** Making its tables takes three seconds on a quiet machine, starting it less than one. */
const startDeadlineMs = 100_000
const readyPollMs = 50
const path = `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`
const programs = ['mariadbd', 'mariadb-install-db']

/** Why no server can be started here; undefined where one can, or where `PERDURE_TEST_MYSQL_URL` names one. */
export function databaseServerMissing(): string | undefined {
  if (process.env.PERDURE_TEST_MYSQL_URL !== undefined) return undefined
  const lacking = programs.find((program) => !path.split(':').some((dir) => existsSync(join(dir, program))))
  if (lacking === undefined) return undefined
  const reason = `${lacking} is missing (Debian: apt-get install mariadb-server)`
  if (process.env.PERDURE_REQUIRE_DATABASE === '1')
    throw new Error(`tests with a database server must run here, but ${reason}`)
  console.warn(`tests with a database server are skipped: ${reason}`)
  return reason
}

/** Starts the server, waits for the test's process to end or to say so, and takes all away that is left. */
const keeper = `root=$1; shift
"$@" >>"$root/log" 2>&1 &
server=$!
echo $server
read -r word
kill -CONT $server 2>/dev/null
kill -KILL $server 2>/dev/null
wait $server
rm -rf "$root"`

/** Starts one, or takes the one that `PERDURE_TEST_MYSQL_URL` names. @throws Error with the end of its log */
export async function startDatabaseServer(): Promise<TestDatabaseServer> {
  const given = process.env.PERDURE_TEST_MYSQL_URL
  if (given !== undefined) return { url: given, signal: () => {}, close: async () => {} }
  const root = mkdtempSync(join(tmpdir(), 'perdure-db-'))
  const socket = join(root, 'socket')
  const env = { ...process.env, PATH: path }
  const options = [
    '--no-defaults',
    `--user=${userInfo().username}`,
    `--datadir=${join(root, 'data')}`,
    '--innodb-log-file-size=8M',
    '--innodb-flush-log-at-trx-commit=0',
  ]
  execFileSync(
    'mariadb-install-db',
    [...options, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { env, stdio: 'ignore' },
  )
  const command = ['mariadbd', ...options, `--socket=${socket}`, '--skip-networking']
  const child = spawn('sh', ['-c', keeper, 'keeper', root, ...command], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // The keeper has its own group: a Ctrl-C at the terminal would end it before its work.
    detached: true,
    env,
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  async function close(): Promise<void> {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.stdin.end()
    await ended
  }
  try {
    await whenUp(socket, root, child)
  } catch (error) {
    await close()
    throw error
  }
  return {
    url: `mysql://root@localhost?socket=${socket}`,
    signal: (name) => void process.kill(pid, name),
    close,
  }
}

async function whenUp(socket: string, root: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + startDeadlineMs
  while (!(await answers(socket))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      const log = existsSync(join(root, 'log')) ? readFileSync(join(root, 'log'), 'utf8') : ''
      throw new Error(`the database server did not come up:\n${log.slice(-2000)}`)
    }
    await delay(readyPollMs)
  }
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    connection.once('data', () => {
      connection.destroy()
      resolve(true)
    })
    connection.once('error', () => resolve(false))
    connection.once('close', () => resolve(false))
  })
}
