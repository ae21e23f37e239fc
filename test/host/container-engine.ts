/**
 * A container engine for tests: a Docker daemon on a socket and a folder of its own.
 *
 * Invariants
 * - It ends with the process that started it, however that ends, and leaves no process, mount, cgroup or file.
 * - Where it cannot be had the reason is reported, and with PERDURE_REQUIRE_ENGINE=1 that is a failure.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { pack } from 'tar-stream'

export interface TestEngine {
  /** For `DOCKER_HOST`. */
  readonly address: string
  /** Kills the daemon as a crash would; it can be started again. */
  kill(): Promise<void>
  restart(): Promise<void>
  close(): Promise<void>
}

/** Starting takes two seconds on a quiet machine. */
const startDeadlineMs = 100_000
const readyPollMs = 100
const path = `${process.env.PATH ?? ''}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin`

/** Why no engine can be started here; undefined where one can. */
export function engineMissing(): string | undefined {
  const reason = missing()
  if (reason !== undefined && process.env.PERDURE_REQUIRE_ENGINE === '1')
    throw new Error(`tests with containers must run here, but ${reason}`)
  return reason
}

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'containers need Linux'
  if (process.getuid?.() !== 0) return 'only root can start a container engine'
  for (const program of ['dockerd', 'containerd', 'busybox'])
    if (!path.split(':').some((folder) => existsSync(join(folder, program))))
      return `${program} is missing (Debian: apt-get install docker.io busybox-static)`
  return undefined
}

/**
 * Waits for the test's process to end or to say so, then takes away all that the daemon leaves.
 * Arguments: the folder, the name of the cgroups, and the daemon's command.
 */
const keeper = `root=$1 cgroup=$2; shift 2
while read -r word; do
  case $word in
    start) "$@" >>"$root/log" 2>&1 & engine=$! ;;
    kill)
      kill -KILL $engine; wait $engine
      # Its containerd dies with it, and a daemon that finds one which has not yet would wait for it without effect.
      for i in $(seq 100); do kill -0 "$(cat "$root/exec/containerd/containerd.pid")" || break; sleep 0.1; done 2>/dev/null
      ;;
  esac
done
kill -TERM $engine 2>/dev/null
for i in $(seq 200); do kill -0 $engine 2>/dev/null || break; sleep 0.1; done
kill -KILL $engine 2>/dev/null
for pass in 1 2 3 4 5; do
  for process in /proc/[0-9]*; do
    case $(readlink "$process/exe") in
      *containerd*) grep -q "$root" "$process/cmdline" && kill -KILL "\${process#/proc/}" ;;
    esac
  done
  find /sys/fs/cgroup -path "*/$cgroup*/cgroup.procs" -exec cat {} + | sort -u | xargs -r kill -KILL
  sleep 0.1
done 2>/dev/null
grep -o " $root[^ ]*" /proc/self/mountinfo | sort -ur | while read -r mount; do umount -l "$mount"; done
find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" -exec rmdir {} + 2>/dev/null
rm -rf "$root"`

/**
 * Starts a daemon.
 * @param folder where it keeps everything; a temporary one by default
 * @param drivers of its storage, in the order in which they are tried; overlay2 does not lie on overlayfs, as it would in a
 * container
 * @throws Error with the end of its log where it does not come up
 */
export async function startEngine(
  folder: string = tmpdir(),
  drivers: readonly string[] = ['overlay2', 'vfs'],
): Promise<TestEngine> {
  let failure: unknown
  for (const driver of drivers) {
    try {
      return await startWith(driver, folder)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

async function startWith(driver: string, folder: string): Promise<TestEngine> {
  const root = mkdtempSync(join(folder, 'perdure-engine-'))
  const socket = join(root, 'docker.sock')
  const cgroup = `perdure-engine-${process.pid}-${root.slice(-6)}`
  writeFileSync(join(root, 'daemon.json'), '{}')
  const command = [
    'dockerd',
    `--config-file=${join(root, 'daemon.json')}`,
    `--host=unix://${socket}`,
    `--data-root=${join(root, 'data')}`,
    `--exec-root=${join(root, 'exec')}`,
    `--pidfile=${join(root, 'pid')}`,
    `--cgroup-parent=/${cgroup}`,
    `--storage-driver=${driver}`,
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--shutdown-timeout=2',
  ]
  mkdirSync(join(root, 'exec'))
  const child = spawn('sh', ['-c', keeper, 'keeper', root, cgroup, ...command], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // The keeper has its own group: a Ctrl-C at the terminal would end it before its work.
    detached: true,
    env: { ...process.env, PATH: path },
  })
  const say = (word: string) => child.stdin?.write(`${word}\n`)
  async function close(): Promise<void> {
    if (child.exitCode !== null) return
    child.stdin?.end()
    await once(child, 'exit')
  }
  try {
    await bringUp(socket, root, child, () => say('start'))
  } catch (error) {
    await close()
    throw error
  }
  return {
    address: `unix://${socket}`,
    async kill() {
      say('kill')
      while (await answers(socket)) await delay(readyPollMs)
    },
    restart: () => bringUp(socket, root, child, () => say('start')),
    close,
  }
}

/** @param start starts the daemon, once more where its own deadline for containerd has passed on a busy machine */
async function bringUp(socket: string, root: string, child: ChildProcess, start: () => void): Promise<void> {
  const deadline = Date.now() + startDeadlineMs
  const file = join(root, 'log')
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const before = read().length
  let failures = 0
  start()
  while (!(await answers(socket))) {
    const log = read().slice(before)
    const overdue = log.match(/timeout waiting for containerd/g)?.length ?? 0
    if (child.exitCode !== null || Date.now() > deadline || /failed to start daemon/.test(log))
      throw new Error(`the container engine did not come up:\n${log.slice(-2000)}`)
    if (overdue > failures) {
      failures = overdue
      start()
    }
    await delay(readyPollMs)
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const ping = request({ socketPath, path: '/_ping', timeout: 2_000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    ping.on('timeout', () => ping.destroy())
    ping.on('error', () => resolve(false))
    ping.end()
  })
}

/** A file system with busybox, and on request this machine's bash and Perl, as a tar. */
export function busyboxTar({
  bash = false,
  perl = false,
}: {
  readonly bash?: boolean
  readonly perl?: boolean
} = {}): Readable {
  const busybox = fileOf('busybox')
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n')
  const tar = pack()
  const folders = ['bin', 'dev', 'etc', 'home', 'proc', 'root', 'sys']
  for (const name of folders) tar.entry({ name, type: 'directory', mode: 0o755 })
  tar.entry({ name: 'tmp', type: 'directory', mode: 0o1777 })
  tar.entry({ name: 'bin/busybox', mode: 0o755 }, readFileSync(busybox))
  for (const applet of applets.filter((name) => name !== '' && name !== 'busybox'))
    tar.entry({ name: `bin/${applet}`, type: 'symlink', linkname: 'busybox' })
  tar.entry({ name: 'etc/passwd' }, 'root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home:/bin/sh\n')
  tar.entry({ name: 'etc/group' }, 'root:x:0:\nagent:x:1000:\n')
  const programs = [...(bash ? ['bash'] : []), ...(perl ? ['perl'] : [])].map(fileOf)
  for (const program of programs)
    tar.entry({ name: `bin/${basename(program)}`, mode: 0o755 }, readFileSync(program))
  for (const library of new Set(programs.flatMap(librariesOf)))
    tar.entry({ name: library.slice(1), mode: 0o755 }, readFileSync(library))
  tar.finalize()
  return Readable.from(tar)
}

function librariesOf(program: string): readonly string[] {
  return execFileSync(fileOf('ldd'), [program], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
}

function fileOf(program: string): string {
  const folder = path.split(':').find((each) => existsSync(join(each, program)))
  if (folder === undefined) throw new Error(`${program} is missing`)
  return join(folder, program)
}
