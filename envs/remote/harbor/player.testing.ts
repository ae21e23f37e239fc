/**
 * A process that plays tasks of Harbor until it is killed. Arguments: their folder, and the settings as JSON.
 *
 * Invariants
 * - It says `played` on its standard output after each episode.
 */
import type { JsonObject } from '../../../messages/message.ts'
import { calling } from '../../contract/agent-tool.ts'
import { remoteEnvironment } from '../remote-environment.ts'

const [folder = '', settings = '{}'] = process.argv.slice(2)
const task = await remoteEnvironment(`harbor+${folder}`, 'it').open({
  settings: JSON.parse(settings) as JsonObject,
})

async function play(index: number): Promise<void> {
  const session = await task.create()
  await session.reset(task.instanceAt('train', index))
  await session.step(calling('bash', { command: 'sleep 0.2; (sleep 100 &)' }))
  await session.step(calling('done', {}))
  await session.close()
  process.stdout.write('played\n')
}

process.stdout.write('opened\n')
for (;;) await Promise.all([0, 1, 2].map(play))
