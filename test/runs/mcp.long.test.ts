/** A run on an MCP server as it is published: the notes of `examples/notes` on the filesystem server, a process for each episode. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { markedProcesses } from '../../machine/processes/process-group.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

it('two updates are made, every episode has a reward, and no process or folder of a server is left', async () => {
  const set = [
    'rollout.groupSize=4',
    'rollout.groupsPerUpdate=2',
    'warmStart.demonstrations=8',
    'warmStart.epochs=1',
    'policy.hiddenSize=32',
    'training.updates=2',
    'evaluation.suites.0.episodes=4',
  ].flatMap((value) => ['--set', value])
  const { code, stderr } = await startPerdure(
    home,
    'train',
    'examples/notes/train.yaml',
    '--run',
    'notes',
    ...set,
  ).ended
  expect(code, stderr).toBe(0)
  expect(stderr).not.toMatch(/error/i)
  const lines = readFileSync(join(home, 'runs/notes/metrics.jsonl'), 'utf8').trim().split('\n')
  const updates = lines.map((line) => JSON.parse(line)).filter((line) => 'step' in line)
  expect(updates.map(({ samples }) => samples)).toEqual([{ notes: 8 }, { notes: 8 }])
  expect(readdirSync(join(home, 'environments/notes'))).toEqual([])
  const left = [...(await markedProcesses()).keys()].filter((mark) => mark.startsWith(home))
  expect(left).toEqual([])
}, 300_000)
