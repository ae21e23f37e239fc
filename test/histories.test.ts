/** Histories that were recorded by each release replay with the workflows as they are. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as workflows from '../workflows/bundle.ts'
import { replay } from './support/executions.ts'

const folder = new URL('histories/', import.meta.url)
const releases = readdirSync(folder)

it('there is a history of every workflow', () => {
  const recorded = releases.flatMap((release) => readdirSync(new URL(release, folder)))
  const names = Object.keys(workflows).map((type) => type.replace(/[A-Z]/g, (letter) => `-${letter}`))
  for (const name of names) expect(recorded).toContain(`${name.toLowerCase()}.json`)
})

it.each(releases)(
  'what release %s recorded replays',
  async (release) => {
    const files = readdirSync(new URL(release, folder))
    const executions = files.map((file) => ({
      workflowId: `${release}/${file}`,
      type: file,
      history: JSON.parse(readFileSync(new URL(`${release}/${file}`, folder), 'utf8')) as never,
    }))
    expect(await replay(executions)).toEqual([])
  },
  300_000,
)
