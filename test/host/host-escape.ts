/**
 * The way out of a container that DAC_READ_SEARCH opens: a file of the host, opened by its handle through
 * whatever of the same file system is mounted there.
 *
 * Invariants
 * - The file is one that only root may read, in the file system of the engine's own folder.
 * - The system call is made, and what came of it is written down: a container in which it was never tried proves
 *   nothing.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Numbers of the system calls name_to_handle_at and open_by_handle_at (Linux, arch/…/syscall.tbl). */
const numbers: Readonly<Record<string, readonly [number, number]>> = { x64: [303, 304], arm64: [264, 265] }

export interface HostSecret {
  /** Text that must not be found in a container. */
  readonly content: string
  /** Reads the file as it is now. */
  read(): string
  /** A program in Perl, which prints how the attempt to read and to change the file ended. */
  readonly program: string
  close(): void
}

/** Makes the file. @throws Error on a machine whose system calls are not known here */
export function makeHostSecret(): HostSecret {
  const [nameToHandle, openByHandle] = numbers[process.arch] ?? []
  if (nameToHandle === undefined || openByHandle === undefined)
    throw new Error(`the system calls of ${process.arch} are not known`)
  const folder = mkdtempSync(join(tmpdir(), 'perdure-secret-'))
  const file = join(folder, 'secret')
  const content = `only root may know ${folder}`
  writeFileSync(file, content, { mode: 0o600 })
  // struct file_handle: bytes, type, and the handle itself.
  const handle = execFileSync(
    'perl',
    [
      '-e',
      `my $h = pack('Ii', 128, 0) . "\\0" x 128; my $m = pack('i', 0); my $f = $ARGV[0];
       syscall(${nameToHandle}, -100, $f, $h, $m, 0) == 0 or die "no handle: $!"; print unpack('H*', substr($h, 0, 8 + unpack('I', $h)))`,
      file,
    ],
    { encoding: 'utf8' },
  )
  return {
    content,
    read: () => readFileSync(file, 'utf8'),
    // 02002: O_RDWR | O_APPEND.
    program: `my $h = pack('H*', '${handle}');
my %ends;
open(my $mounts, '<', '/proc/self/mountinfo') or die $!;
for (map { (split ' ')[4] } <$mounts>) {
  open(my $lent, '<', $_) or next;
  my $fd = syscall(${openByHandle}, fileno($lent), $h, 02002);
  if ($fd < 0) { $ends{"refused: $!"} = 1; next }
  open(my $f, '+<&=', $fd) or die $!;
  $ends{'read: ' . <$f>} = 1;
  syswrite($f, ' changed');
}
print "$_\\n" for sort keys %ends;
`,
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
