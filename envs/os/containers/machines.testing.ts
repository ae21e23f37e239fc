/**
 * Machines of the OS task in containers, for tests: an engine of their own, and items to grade on them.
 */
import { startEngine, type TestEngine } from '../../../test/host/container-engine.ts'
import { type ContainerWitness, witnessContainers } from '../../../test/host/container-witness.ts'
import type { Sandbox } from '../../../worlds/containers/sandbox.ts'
import type { OsItem } from '../item.ts'
import { readSettings } from '../settings.ts'
import { createImages } from './image.ts'
import { containerAssignment } from './machine.ts'
import type { MachineRoom } from './preparation.ts'
import { openTaskSandbox } from './sandbox.ts'

export interface TestMachines {
  readonly engine: TestEngine
  readonly witness: ContainerWitness
  readonly sandbox: Sandbox
  readonly room: MachineRoom
  close(): Promise<void>
}

/** Starts an engine and makes the image of most items, from the cache where it is there. */
export async function openTestMachines(): Promise<TestMachines> {
  const engine = await startEngine()
  const witness = await witnessContainers(engine.address)
  const sandbox = await openTaskSandbox({ engine: engine.address })
  const room = {
    sandbox,
    imageOf: createImages(sandbox, undefined),
    scriptMs: readSettings({}).scriptSeconds * 1_000,
  }
  await room.imageOf('default')
  return {
    engine,
    witness,
    sandbox,
    room,
    async close() {
      await sandbox.close()
      witness.close()
      await engine.close()
    },
  }
}

/** An item made for a test. */
export const scripted = (fields: Partial<OsItem>): OsItem => ({
  id: 'made#0',
  description: '',
  image: 'default',
  init: [],
  start: undefined,
  evaluation: { kind: 'match', answer: '', strip: true },
  example: undefined,
  ...fields,
})
export const bash = (code: string) => ({ language: 'bash', code }) as const
const compare = {
  language: 'python',
  code: 'from sys import argv\nexit(int(argv[1]) != int(argv[2]))',
} as const

/** Whether the item is fulfilled after these scripts with this answer. */
export async function graded(
  room: MachineRoom,
  item: OsItem,
  scripts: readonly string[],
  answer: string,
  checkMs?: number,
): Promise<boolean> {
  const limited = checkMs === undefined ? room : { ...room, checkMs }
  const machine = await containerAssignment(item, async () => limited).open()
  try {
    for (const script of scripts) await machine.run(script)
    return await machine.grade({ kind: 'answer', answer })
  } finally {
    await machine.close()
  }
}

/** It asks for a number. */
export const question = scripted({
  init: [bash('mkdir -p /root/d && touch /root/d/1 /root/d/2 /root/d/3')],
  evaluation: { kind: 'check', chain: ['example', compare] },
  example: bash('ls /root/d | wc -l'),
})
/** It asks for work. */
export const work = scripted({
  init: [bash('mkdir -p /srv/d && touch /srv/d/a /srv/d/b')],
  evaluation: {
    kind: 'check',
    chain: [
      bash(
        '[ "$(stat -c %a /srv/d/a)" = 600 ] && [ ! -e /srv/d/b ] && python3 -c "exit(0)" && ls /srv/d > /dev/null',
      ),
    ],
  },
})
/** The work of `work`. */
export const done = 'chmod 600 /srv/d/a; rm /srv/d/b'
