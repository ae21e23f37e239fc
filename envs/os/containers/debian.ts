/**
 * A small Debian as a tar, from the packages that are installed on this machine.
 *
 * Invariants
 * - It holds the files of the essential packages, of Python and of the tools that official items use, with all
 *   they depend on; accounts are Debian's own list, and no file of the machine that no package brought.
 */
import { execFile, spawn } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { EnvironmentFault } from '../../contract/environment.ts'

/** Packages beside the essential ones. The first two are required; others are left out where they are not installed. */
export const wanted = [
  'python3',
  'procps',
  'apt',
  'passwd',
  'login',
  'sudo',
  'mawk',
  'findutils',
  'tar',
  'gzip',
  'tree',
  'zip',
  'unzip',
  'file',
  'bc',
]
const needed = 2

const listLimit = 64 * 2 ** 20
const run = promisify(execFile)

interface Package {
  readonly name: string
  readonly essential: boolean
  /** Groups of alternatives. */
  readonly depends: readonly (readonly string[])[]
  readonly provides: readonly string[]
}

/** @throws EnvironmentFault backend where this is no Debian with these packages, with what to do */
export async function debianTar(): Promise<Readable> {
  const packages = await installed()
  const names = new Set(packages.keys())
  const missing = wanted.slice(0, needed).filter((name) => !names.has(name))
  if (missing.length > 0) throw noBase(`packages are missing: apt-get install ${missing.join(' ')}`)
  const chosen = closure(packages)
  return tarOf(await filesOf(chosen), chosen)
}

function noBase(reason: string, cause?: unknown): EnvironmentFault {
  return new EnvironmentFault(
    'backend',
    `official items of os need an image, and none can be made from this machine's packages (${reason}). Build AgentBench's own, \`docker build -t local-os/default -f res/dockerfiles/default res/dockerfiles\` in its folder, or set \`image\`; see docs/containers.md`,
    { cause },
  )
}

async function installed(): Promise<ReadonlyMap<string, Package>> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own form of placeholders
  const format = '${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\t${db:Status-Status}\n'
  const { stdout } = await run('dpkg-query', ['-W', '-f', format], { maxBuffer: listLimit }).catch(
    (cause: unknown) => {
      throw noBase('it is no Debian', cause)
    },
  )
  const packages = new Map<string, Package>()
  for (const line of stdout.split('\n')) {
    const [name = '', essential = '', depends = '', provides = '', status = ''] = line.split('\t')
    if (status !== 'installed') continue
    packages.set(name, {
      name,
      essential: essential === 'yes',
      depends: namesIn(depends, ',').map((group) => namesIn(group, '|').map(bareName)),
      provides: namesIn(provides, ',').map(bareName),
    })
  }
  return packages
}

function namesIn(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** `libc6:any (>= 2.36)` is libc6. */
function bareName(text: string): string {
  return text.replace(/[\s(:].*$/s, '')
}

/** The wanted packages and all they depend on. */
function closure(packages: ReadonlyMap<string, Package>): ReadonlySet<string> {
  const providers = new Map<string, string>()
  for (const { name, provides } of packages.values())
    for (const virtual of provides) providers.set(virtual, name)
  const chosen = new Set<string>()
  const open = [
    ...wanted,
    ...[...packages.values()].filter(({ essential }) => essential).map(({ name }) => name),
  ]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const found = packages.get(name)
    if (found === undefined || chosen.has(name)) continue
    chosen.add(name)
    for (const group of found.depends) {
      const pick =
        group.find((each) => packages.has(each)) ??
        providers.get(group.find((each) => providers.has(each)) ?? '')
      if (pick !== undefined) open.push(pick)
    }
  }
  return chosen
}

/** The files of the packages without documentation: it is a third of the bytes, and no task asks for it. */
async function filesOf(packages: ReadonlySet<string>): Promise<string[]> {
  const { stdout } = await run('dpkg', ['-L', ...packages], { maxBuffer: listLimit })
  const paths = stdout
    .split('\n')
    .filter(
      (path) =>
        path.startsWith('/') &&
        path !== '/.' &&
        !/^\/usr\/share\/(?:doc|man|locale|info|lintian)\//.test(path),
    )
  return [...new Set(paths)].sort()
}

/** Folders that no package brings but every system has. */
const folders: Readonly<Record<string, number>> = {
  dev: 0o755,
  proc: 0o555,
  sys: 0o555,
  run: 0o755,
  root: 0o700,
  home: 0o755,
  media: 0o755,
  mnt: 0o755,
  opt: 0o755,
  srv: 0o755,
  tmp: 0o1777,
  'var/tmp': 0o1777,
  'var/log': 0o755,
  'usr/local/bin': 0o755,
  'usr/local/sbin': 0o755,
}

/** Where root's profile and skeletons are in the packages. */
const copies: Readonly<Record<string, string>> = {
  'etc/passwd': '/usr/share/base-passwd/passwd.master',
  'etc/group': '/usr/share/base-passwd/group.master',
  'root/.bashrc': '/usr/share/base-files/dot.bashrc',
  'root/.profile': '/usr/share/base-files/dot.profile',
  'etc/profile': '/usr/share/base-files/profile',
  'etc/nsswitch.conf': '/usr/share/libc-bin/nsswitch.conf',
}

/** Accounts without a password, as Debian has them before one is set. */
function shadowOf(names: readonly string[]): string {
  return names.map((name) => `${name}:*:19000:0:99999:7:::\n`).join('')
}

/** As dpkg tells of an installation: items ask about the logs of a machine, and every Debian has this one. */
function installationLog(packages: ReadonlySet<string>): string {
  const states = [
    'install',
    'status half-installed',
    'status unpacked',
    'status half-configured',
    'status installed',
  ]
  return [...packages]
    .sort()
    .flatMap((name) => states.map((state) => `2024-05-06 09:00:00 ${state} ${name}:amd64\n`))
    .join('')
}

/** The entries of these packages in the machine's dpkg status: with them, `apt install` of one needs no network. */
function installationStatus(packages: ReadonlySet<string>): string {
  return readFileSync('/var/lib/dpkg/status', 'utf8')
    .split(/\n{2,}/)
    .filter((stanza) => packages.has(/^Package: (.*)$/m.exec(stanza)?.[1] ?? ''))
    .map((stanza) => `${stanza.trimEnd()}\n\n`)
    .join('')
}

const sudoers = `Defaults\tenv_reset
Defaults\tmail_badpass
Defaults\tsecure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
root\tALL=(ALL:ALL) ALL
%sudo\tALL=(ALL:ALL) ALL
@includedir /etc/sudoers.d
`

/** Files that Debian's own set-up writes: `su` and `useradd` need them. */
function generated(
  packages: ReadonlySet<string>,
): Readonly<Record<string, { readonly content: string; readonly mode: number }>> {
  const accounts = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [line.split(':')[0] ?? '']))
  const pam = (kind: string) => ({
    content: `${kind} sufficient pam_unix.so\n${kind} required pam_permit.so\n`,
    mode: 0o644,
  })
  return {
    'etc/shadow': { content: shadowOf(accounts(copies['etc/passwd'] ?? '')), mode: 0o640 },
    'etc/gshadow': {
      content: accounts(copies['etc/group'] ?? '')
        .map((name) => `${name}:*::\n`)
        .join(''),
      mode: 0o640,
    },
    'var/log/dpkg.log': { content: installationLog(packages), mode: 0o644 },
    'var/lib/dpkg/status': { content: installationStatus(packages), mode: 0o644 },
    // The machine's own may be changed, and is a secret.
    ...(packages.has('sudo') ? { 'etc/sudoers': { content: sudoers, mode: 0o440 } } : {}),
    'etc/pam.d/common-auth': pam('auth'),
    'etc/pam.d/common-account': pam('account'),
    'etc/pam.d/common-password': pam('password'),
    'etc/pam.d/common-session': pam('session'),
    'etc/pam.d/common-session-noninteractive': pam('session'),
  }
}

/** Links by which a program has a common name, such as awk for mawk. */
function alternatives(paths: ReadonlySet<string>): ReadonlyMap<string, string> {
  const links = new Map<string, string>()
  for (const name of readdirSync('/var/lib/dpkg/alternatives')) {
    const [, link, ...rest] = readFileSync(`/var/lib/dpkg/alternatives/${name}`, 'utf8').split('\n')
    // The machine's own choice may be a program that is left out; any that is there will do.
    const target = [linkTarget(`/etc/alternatives/${name}`), ...rest].find(
      (path) => path?.startsWith('/') && path !== link && paths.has(settled(path)),
    )
    if (link === undefined || target === undefined) continue
    links.set(settled(link), `/etc/alternatives/${name}`)
    links.set(`/etc/alternatives/${name}`, target)
  }
  return links
}

function linkTarget(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined
}

/** The path with its folder's links followed: packages say `/bin/bash` where `/bin` is a link to `/usr/bin`. */
function settled(path: string): string {
  const folder = dirname(path)
  return lstatSync(folder, { throwIfNoEntry: false }) === undefined
    ? path
    : join(realpathSync(folder), basename(path))
}

/** Streams the tar: what the packages brought, then what is made here, from a folder that goes with the stream. */
async function tarOf(brought: readonly string[], packages: ReadonlySet<string>): Promise<Readable> {
  const paths = new Set(brought.map(settled))
  const gone = [...paths].filter((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined)
  const [program] = gone.filter((path) => /\/s?bin\/|\/lib\//.test(path))
  if (program !== undefined) throw noBase(`${program} is not there: are packages being installed right now?`)
  const stage = await mkdtemp(join(tmpdir(), 'perdure-os-'))
  const made = await stageIn(stage, paths, packages)
  const own = new Set(made)
  const absent = new Set(gone)
  const listed = [...paths]
    .filter((path) => !absent.has(path))
    .map((path) => path.slice(1))
    .filter((name) => !own.has(name))
  const lists = { host: join(stage, '.host'), made: join(stage, '.made') }
  await writeFile(lists.host, listed.map((name) => `${name}\0`).join(''))
  await writeFile(lists.made, made.map((name) => `${name}\0`).join(''))
  const options = [
    '--create',
    '--no-recursion',
    '--null',
    '--numeric-owner',
    '--owner=0',
    '--group=0',
    '--hard-dereference',
  ]
  const tar = spawn('tar', [...options, '-C', '/', '-T', lists.host, '-C', stage, '-T', lists.made], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  tar.on('close', (code) => {
    if (code !== 0) tar.stdout.destroy(noBase(`tar ended with ${code}`))
    rmSync(stage, { recursive: true, force: true })
  })
  tar.on('error', (cause) => tar.stdout.destroy(noBase('there is no tar', cause)))
  return tar.stdout
}

/** @returns names of what was made, folders before what is in them */
async function stageIn(
  stage: string,
  paths: ReadonlySet<string>,
  packages: ReadonlySet<string>,
): Promise<string[]> {
  const made: string[] = []
  const place = async (name: string, write: (path: string) => Promise<void>) => {
    await mkdir(join(stage, dirname(name)), { recursive: true })
    await write(join(stage, name))
    made.push(name)
  }
  for (const [name, mode] of Object.entries(folders))
    await place(name, async (path) => {
      await mkdir(path, { recursive: true })
      await chmod(path, mode)
    })
  for (const [name, source] of Object.entries(copies))
    await place(name, async (path) => {
      await writeFile(path, await readFile(source))
      await chmod(path, 0o644)
    })
  for (const [name, { content, mode }] of Object.entries(generated(packages)))
    await place(name, async (path) => {
      await writeFile(path, content)
      await chmod(path, mode)
    })
  for (const [link, target] of alternatives(paths))
    await place(link.slice(1), (path) => symlink(target, path))
  return made
}
