/** Servers of MCP as they are published, by what they answered. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { plays, playThrough } from './plays.testing.ts'
import { serveRecorded } from './recorded-server.testing.ts'

it.each(plays)('the recorded $server is played to its end', async (play) => {
  const program = join(import.meta.dirname, 'recorded-server.testing.ts')
  if (play.server === 'server-filesystem') {
    await playThrough(play, { command: process.execPath, args: [program, play.server] })
    return
  }
  const server = await serveRecorded(play.server)
  try {
    await playThrough(play, { url: server.url })
  } finally {
    server.close()
  }
  expect.hasAssertions()
})
