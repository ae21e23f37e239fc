/**
 * The disk use of a container, counted exactly by an inspector while the container is stopped.
 *
 * Invariants
 * - Counted are the blocks and the names of everything that is not the image's own, as inode and change time
 *   tell; files that have no name any more but are open, mapped or run; and the files of the engine's that can
 *   be written.
 * - A container that cannot be counted gives `undefined`, never zero. That happens with folders that cannot be read or whose
 *   paths are too long, processes that hide their files, descriptors on their way through a socket.
 * - No program of the container takes part, and no link in it is followed.
 */
import { ContainerFault } from '../fault.ts'
import type { ExecResult } from '../sandbox.ts'

/** The use of a disk. */
export interface DiskUse {
  readonly bytes: number
  /** Entries of folders: each name of a file counts. */
  readonly names: number
}

/** An overloaded machine walks over a hundred thousand names in seconds; one that takes longer is over its limit. */
export const countDeadlineMs = 30_000

/** The status of an image that cannot count, whatever is in the container. */
const toolsMissing = 9
/** File systems that take memory, and are limited with it. */
const inMemory = 'proc|sysfs|tmpfs|devtmpfs|devpts|mqueue|cgroup|cgroup2'

/**
 * For an inspector's shell; prints bytes and names, or ends with another status than 0.
 * GNU find follows paths of any length; busybox's ends with a failure at those that are too long.
 * @param pid a process of the container, as its processes have it
 * @param sharesImage whether the engine's storage shows an image's files as the same in all its containers
 */
export function countScript(pid: number, sharesImage: boolean): string {
  return `theirs=/proc/${pid}/root work=/tmp/count; umask 022
for tool in find stat awk sed ls grep; do command -v $tool > /dev/null || exit ${toolsMissing}; done
mkdir -p $work && cd / || exit ${toolsMissing}
if find / -maxdepth 0 -printf '' 2> /dev/null; then
  found() { find "$1" -xdev -printf '%i %C@ %b %D\\n'; }
else
  found() { find "$1" -xdev -exec stat -c '%i %Z %b %d' {} +; }
fi
found / > $work/own || exit ${toolsMissing}
found $theirs/ > $work/theirs || exit 4
device=$(stat -c %d $theirs/) && cp /proc/${pid}/mountinfo $work/mounts || exit 4
cat > $work/held <<'END'
held() {
  for task in /proc/$1/task/[0-9]*; do
    ls $task/fd > /dev/null || return
    stat -L -c 'file %d %i %h %b' $task/fd/* $task/cwd /proc/$1/exe
    grep -hE '^(scm_fds|UserFiles):[[:space:]]*[1-9]' $task/fdinfo/*
  done
  sed -n 's/^\\(.*\\) (deleted)$/map \\1/p' /proc/$1/maps
} 2> /dev/null
END
. $work/held
for process in /proc/[0-9]*; do
  held \${process#/proc/} && continue
  # Another user's process shows its files to that user.
  user=$(awk '$1 == "Uid:" { print $2 }' $process/status) group=$(awk '$1 == "Gid:" { print $2 }' $process/status)
  setpriv --reuid="$user" --regid="$group" --clear-groups sh -c '. $0; held $1' $work/held \${process#/proc/} && continue
  [ ! -d $process ] || grep -q '^State:.Z' $process/status || exit 5
done > $work/open 2> /dev/null
awk '$6 ~ /^rw/ && $5 != "/" && $0 !~ / - (${inMemory}) / { print $5 }' $work/mounts |
  while read -r path; do stat -c 'mount %b' "$theirs$path"; done > $work/lent
awk -v device="$device" -v shared=${sharesImage ? 1 : 0} '
  FILENAME ~ /mounts$/ {
    split($3, d, ":"); mounted[d[1] * 256 + d[2] % 256 + int(d[2] / 256) * 1048576]
    if (/ - (${inMemory}) /) memory[sprintf("%02x:%02x", d[1], d[2])]
    next
  }
  # Mounted entries are on another disk.
  FILENAME ~ /(own|theirs)$/ && $4 != device && ($4 in mounted) { next }
  FILENAME ~ /own$/ { inodes[$1]; if (shared) own[$1 " " $2]; else { names--; blocks -= $3 }; next }
  FILENAME ~ /theirs$/ { if (($1 " " $2) in own) next; names++; if (!($1 in seen)) { seen[$1]; blocks += $3 }; next }
  $1 == "mount" { blocks += $2; next }
  $1 == "file" { if ($2 == device && $4 == 0 && !($3 in gone)) { gone[$3]; names++; blocks += $5 }; next }
  $1 == "map" { if (!($5 in memory) && $5 != "00:01") maps[$6]; next }
  { hidden = 1 }
  END {
    for (inode in maps) if (!(inode in gone) && !(inode in inodes)) hidden = 1
    if (hidden) exit 6
    printf "%.0f %.0f\\n", blocks < 0 ? 0 : blocks * 512, names < 0 ? 0 : names
  }' $work/mounts $work/own $work/theirs $work/lent $work/open`
}

/**
 * Reads the count that the script printed; undefined where it could not count.
 * @throws ContainerFault `bad_settings` for an image that has no tools for it
 */
export function readCount({ exitCode, stdout }: ExecResult, image: string): DiskUse | undefined {
  if (exitCode === toolsMissing)
    throw new ContainerFault(
      'bad_settings',
      `image ${image} cannot count what is written to its disk: it needs find, stat, awk, sed, ls and grep`,
    )
  const [, bytes, names] = /^(\d+) (\d+)\n$/.exec(stdout) ?? []
  if (exitCode !== 0 || bytes === undefined || names === undefined) return undefined
  return { bytes: Number(bytes), names: Number(names) }
}
