/**
 * The files of an agent's machine, laid over those of a container that the agent never was in: what graders look at.
 *
 * Invariants
 * - Every change, creation and deletion of the agent is repeated here, except of programs, libraries and
 *   their configuration: those stay the image's own, and no new program takes the name of one of them.
 * - Changes are found by the change time of the inode, which no program can set: files that the agent did not
 *   touch are the same inode of the same layer in both.
 * - Nothing of the agent's is executed, and no link of its is followed.
 * - [OVERLAY-1] Nothing is taken over below the places that a grader names as its own, and no link that leads there.
 */
import type { Container, InspectorSpec } from '../../../worlds/containers/sandbox.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** The places that a grader keeps from the agent beside programs, libraries and their configuration. */
export interface Kept {
  /** Patterns of `case` for paths without the first `/`. */
  readonly paths?: readonly string[]
  /** Folders of programs beside Debian's: no name of their programs can be taken. */
  readonly programFolders?: readonly string[]
  /** Folders, absolute, into which no link of the agent's may lead. */
  readonly folders?: readonly string[]
}

/** A container that looks at the machine; undefined where it has ended, or ends just now by what the agent left behind. */
export async function lookedAt(machine: Container, spec: InspectorSpec): Promise<Container | undefined> {
  if (machine.ended !== undefined) return undefined
  try {
    return await machine.inspector(spec)
  } catch (fault) {
    const { ended } = await machine.exec(':')
    if (ended !== undefined) return undefined
    throw fault
  }
}

/**
 * Takes over what the agent has changed, in a container that looks at its machine.
 * @returns false where the agent's files keep it from that
 * @throws EnvironmentFault `bad_settings` for an image without the tools
 */
export async function layOver(
  inspector: Container,
  image: string,
  { deadlineMs, kept = {} }: { readonly deadlineMs: number; readonly kept?: Kept },
): Promise<boolean> {
  const { exitCode } = await inspector.exec(overlayScript(kept), { deadlineMs })
  if (exitCode === toolsMissing)
    throw new EnvironmentFault(
      'bad_settings',
      `image ${image} cannot grade: it needs bash, and GNU find, sort, comm, cut and tar`,
    )
  return exitCode === 0
}

/** Folders of programs, in the order of the grader's PATH: the image's own come before the agent's. */
const programFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin']

/** PATH of checks. */
export const gradingPath = [...programFolders, '/usr/local/bin', '/usr/local/sbin'].join(':')

/**
 * Never taken over, as patterns of `case`: what the engine mounts, what is loaded into programs, and what
 * tells them what to load (the loader's cache and preloads, name services, PAM, alternatives, Python, Perl).
 */
const keptOut = [
  ...['dev', 'proc', 'sys', '.dockerenv', 'etc/hosts', 'etc/hostname', 'etc/resolv.conf'],
  ...['bin', 'sbin', 'usr', 'usr/bin', 'usr/sbin', 'etc'],
  ...['lib*', 'usr/lib*', 'usr/local/lib*', 'usr/share/perl*', 'usr/share/python*', 'usr/share/awk*'],
  ...['etc/ld.so*', 'etc/nsswitch.conf', 'etc/alternatives', 'etc/alternatives/*', 'etc/gai.conf'],
  ...['etc/pam.conf', 'etc/pam.d', 'etc/pam.d/*', 'etc/security', 'etc/security/*'],
  ...['etc/python*', 'etc/perl*', 'etc/gconv*', 'etc/sudo.conf', 'etc/apt/apt.conf*', 'etc/dpkg/*'],
]

/** How the script ends in an image that lacks its tools; any other status but 0 is the doing of the agent's files. */
const toolsMissing = 3

/** The script, for bash with GNU find, sort, comm and tar. It prints nothing and ends with 0 when all is laid over. */
function overlayScript({ paths = [], programFolders: more = [], folders = [] }: Kept): string {
  const programs = [...programFolders, ...more]
  const named = programs.map((folder) => `${folder.slice(1)}/*`)
  return `set -u
[ -n "\${BASH_VERSION-}" ] && find / -maxdepth 0 -printf '' && sort -z /dev/null && comm -z /dev/null /dev/null &&
  cut -z -f 1 /dev/null && command -v tar > /dev/null || exit ${toolsMissing}
cd / || exit
theirs=/proc/1/root
[ -d $theirs/etc ] || { echo 'the files of the machine cannot be seen' >&2; exit 1; }
found() { find "$1" -xdev -mindepth 1 -printf '%C@ %y %P\\0' | sort -z; }
work=/dev/shm/overlay
mkdir $work && found / > $work/own && found $theirs/ > $work/theirs || exit
paths() { cut -z -d ' ' -f 3- "$1" | sort -z; }
paths $work/own > $work/own-paths && paths $work/theirs > $work/their-paths || exit
declare -A tools=()
for program in ${programs.map((folder) => `${folder}/*`).join(' ')}; do tools[\${program##*/}]=1; done
chosen() {
  while IFS= read -r -d '' path; do
    case $path in
      ${[...keptOut, ...paths].join('|')}) continue ;;
      ${named.join('|')}) [ -z "\${tools[\${path##*/}]-}" ] || continue ;;
    esac
    printf '%s\\0' "$path"
  done
}
comm -z -23 $work/own-paths $work/their-paths | chosen | sort -rz > $work/gone
comm -z -13 $work/own $work/theirs | cut -z -d ' ' -f 3- | chosen > $work/changed
while IFS= read -r -d '' path; do
  if [ -d "/$path" ] && [ ! -L "/$path" ]; then rmdir "/$path"; else rm -f "/$path"; fi
done < $work/gone 2>/dev/null
tar -C $theirs --null --no-recursion --ignore-failed-read -S -T $work/changed -cf - 2>/dev/null |
  tar -C / --same-owner --same-permissions --warning=none -xf - 2>/dev/null
${linksInto(folders)}rm -rf $work
exit 0`
}

/** Removes links of the agent's that lead into these folders, over others too. */
function linksInto(folders: readonly string[]): string {
  if (folders.length === 0) return ''
  const inside = folders.flatMap((folder) => [folder, `${folder}/*`]).join('|')
  return `while IFS= read -r -d '' path; do
  [ -L "/$path" ] || continue
  case $(readlink -m -- "/$path") in ${inside}) rm -f -- "/$path" ;; esac
done < $work/changed
`
}
