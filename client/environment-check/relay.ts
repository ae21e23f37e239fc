/**
 * A way to a server that can be cut: what the server sees is a client, what the client sees is a server that freezes or is killed.
 *
 * Invariants
 * - Closing it ends every connection through it.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { loopback } from '../../machine/network/listening.ts'

export interface Relay {
  readonly port: number
  /** From now on nothing passes, and no connection ends. */
  freeze(): void
  /** Ends every connection, and refuses new ones. */
  kill(): Promise<void>
  /** Lets new connections pass again. */
  revive(): Promise<void>
  close(): Promise<void>
}

/** Starts one before a server. */
export async function startRelay(host: string, port: number): Promise<Relay> {
  const sockets = new Set<Socket>()
  let isFrozen = false
  const kept = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    return socket
  }
  const server = createServer((near) => {
    kept(near)
    if (isFrozen) return near.pause()
    const far = kept(connect(port, host))
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.pipe(to)
      from.once('close', () => to.destroy())
    }
    return undefined
  })
  async function listen(at: number): Promise<number> {
    server.listen(at, loopback)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  async function kill(): Promise<void> {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const own = await listen(0)
  return {
    port: own,
    freeze() {
      isFrozen = true
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    kill,
    async revive() {
      isFrozen = false
      await listen(own)
    },
    close: kill,
  }
}
