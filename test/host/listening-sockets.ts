/** Sockets on which processes accept connections, from Linux's own tables. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const listening = '0A'

/** Addresses on which the processes listen for TCP connections, e.g. `127.0.0.1:7233`. */
export function listeningAddresses(...pids: readonly number[]): readonly string[] {
  return pids.flatMap((pid) => {
    const own = socketsOf(pid)
    return ['tcp', 'tcp6'].flatMap((table) =>
      readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/))
        .filter(([, , , state, , , , , , inode]) => state === listening && own.has(inode ?? ''))
        .map(([, local = '']) => addressOf(local)),
    )
  })
}

function socketsOf(pid: number): ReadonlySet<string> {
  const folder = `/proc/${pid}/fd`
  return new Set(
    readdirSync(folder).flatMap((descriptor) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${descriptor}`))?.[1] ?? []
      } catch {
        return [] // closed meanwhile
      }
    }),
  )
}

/** The kernel writes words in the byte order of the machine. */
function addressOf(hexadecimal: string): string {
  const [address = '', port = ''] = hexadecimal.split(':')
  const words = address.match(/.{8}/g) ?? []
  const bytes = words.flatMap((word) => [...Buffer.from(word, 'hex')].reverse())
  const isOldInNew = bytes.length === 16 && bytes.slice(0, 12).join(' ') === '0 0 0 0 0 0 0 0 0 0 255 255'
  if (bytes.length === 4 || isOldInNew) return `${bytes.slice(-4).join('.')}:${Number.parseInt(port, 16)}`
  const isLoopback = bytes.slice(0, 15).every((byte) => byte === 0) && bytes[15] === 1
  return `${isLoopback ? '::1' : bytes.join(' ')}:${Number.parseInt(port, 16)}`
}
