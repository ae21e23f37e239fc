/**
 * A process that plays sessions in containers until it is killed.
 *
 * Arguments: the engine's address, a home directory, an image, and how many sessions at once. Says one line
 * for each thing it does, so that its parent can choose when to kill it.
 */
import { join } from 'node:path'
import { holdLeases, leaseFolder } from '../../machine/processes/lease.ts'
import { createHome } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { openSandbox } from '../../worlds/containers/open.ts'

const [engine = '', directory = '', image = '', sessions = '1'] = process.argv.slice(2)
const home = createHome(directory)
const store = await openStore(home.storeFile)
const { leases } = store
const sandbox = await openSandbox({ engine, leases })
const folders = holdLeases(leases, (fault) => say(String(fault)))
const spec = { image, user: '1000:1000', memoryBytes: 2 ** 25, processes: 32 }

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function play(session: number): Promise<never> {
  for (let round = 0; ; round++) {
    say(`${session} begins`)
    const folder = await leaseFolder(join(home.environmentsDir, 'temporary'), leases.scope, folders)
    const container = await sandbox.acquire(spec)
    say(`${session} has ${container.id}`)
    await container.exec('sleep 1000 & echo here')
    say(`${session} acts`)
    // A busy container does not notice that its maker is gone.
    await container.exec('sleep 1000', { deadlineMs: 100 + 400 * ((session + round) % 5) })
    // A container that is looked at is paused: it cannot notice anything.
    if (session % 4 === 3) {
      const inspector = await container.inspector({ image })
      say(`${session} is looked at`)
      await inspector.exec('sleep 1000', { deadlineMs: 1_000 })
      await inspector.release()
    }
    await container.release()
    await folder.release()
    say(`${session} ends`)
  }
}

sandbox.keepWarm(spec, Math.ceil(Number(sessions) / 4))
await Promise.all(Array.from({ length: Number(sessions) }, (_, session) => play(session)))
