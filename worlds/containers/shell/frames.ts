/**
 * The engine's frames: stdout and stderr of a container on one connection.
 *
 * Each frame is one byte for the stream (1 stdout, 2 stderr), three zero bytes, the length as a 32-bit
 * big-endian number, and so many bytes (Docker Engine API, ContainerAttach).
 *
 * Invariants
 * - Bytes are handed on as they come; a frame is never collected.
 */

const headerBytes = 8

/** A reader of frames. @returns what takes the next bytes of the connection */
export function createFrameReader(
  onBytes: (stream: 'stdout' | 'stderr', bytes: Buffer) => void,
): (chunk: Buffer) => void {
  let header = Buffer.alloc(0)
  let stream: 'stdout' | 'stderr' = 'stdout'
  let left = 0
  return (chunk) => {
    let rest = chunk
    while (rest.length > 0) {
      if (left === 0) {
        const missing = headerBytes - header.length
        header = Buffer.concat([header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (header.length < headerBytes) return
        stream = header[0] === 2 ? 'stderr' : 'stdout'
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
        continue
      }
      const bytes = rest.subarray(0, left)
      left -= bytes.length
      rest = rest.subarray(bytes.length)
      onBytes(stream, bytes)
    }
  }
}
