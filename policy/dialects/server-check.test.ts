/** The check of a server, against servers in the forms of vLLM and SGLang. */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manifestFile } from '../checkpoints/manifest.ts'
import { closeDialects, dialects, startAdapterServer } from './dialect-servers.testing.ts'
import { publishServed, servedArchitecture } from './llama-engine.testing.ts'
import { type CheckResult, checkServer, type ServerCheck } from './server-check.ts'

let root: string
const at = (name: string | number): string => join(root, String(name))
const contextLength = servedArchitecture.max_position_embeddings

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'server-check-'))
  for (const version of [0, 1, 2]) await publishServed(at(version), version)
  await cp(at(0), at('published'), { recursive: true })
  for (const name of [manifestFile, 'state.json']) await rm(join(at('published'), name))
})
afterAll(async () => {
  await closeDialects()
  await rm(root, { recursive: true, force: true })
})

async function found(of: Omit<ServerCheck, 'contextLength'>): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  for await (const result of checkServer({ ...of, contextLength })) results.push(result)
  return results
}

describe.each(dialects)('a server of $protocol.name', (dialect) => {
  const { protocol } = dialect

  it('is held against the weights of a folder as its publisher gives it', async () => {
    const before = await readdir(at('published'))
    const { url } = await startAdapterServer(dialect, { base: at(0) })
    const results = await found({ url, protocol, checkpointDir: at('published') })
    expect(results.filter(({ ok }) => !ok)).toEqual([])
    expect(results[0]?.detail).toContain("of the weights' own")
    expect(await readdir(at('published'))).toEqual(before)
  })

  it('that serves another model than the folder’s is found', async () => {
    const { url } = await startAdapterServer(dialect, { base: at(1) })
    const results = await found({ url, protocol, checkpointDir: at('published') })
    expect(results).toMatchObject([
      { ok: false, detail: expect.stringContaining('does not sample from the weights') },
    ])
  })

  it('is checked with adapters: loaded, several in one batch, unloaded', async () => {
    const folderOf = (dir: string) => at(basename(dir))
    const server = await startAdapterServer(dialect, { base: at(0), folderOf })
    const results = await found({ url: server.url, protocol, checkpointDir: at('published'), adapterRank: 4 })
    expect(results.filter(({ ok }) => !ok)).toEqual([])
    expect(results.slice(-3).map(({ check }) => check)).toEqual([
      'an adapter is loaded',
      'several adapters in one batch answer as each does alone',
      'adapters are unloaded, and loaded again',
    ])
    expect(server.loaded.size).toBe(0)
  })

  it('whose adapters are all the same is found', async () => {
    const server = await startAdapterServer(dialect, { base: at(0), folderOf: () => at(1) })
    const results = await found({ url: server.url, protocol, checkpointDir: at('published'), adapterRank: 4 })
    expect(results.at(-1)).toMatchObject({ ok: false, detail: expect.stringContaining('the same logprobs') })
  })
})
