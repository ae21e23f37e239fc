/** The table of nightly tests against the repository, and which of them a change chooses. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { changedPaths, nightlyTestsOf, tabled } from './test-tiers.ts'

const root = dirname(import.meta.dirname)

// [TIERS-1]
test('the table has every nightly test, and names no file or folder that there is not', () => {
  const nightly = globSync('**/*.nightly.test.ts', { cwd: root, exclude: ['node_modules', 'dist'] })
  expect([...new Set(tabled.tests)].toSorted()).toEqual(nightly.toSorted())
  const unknown = tabled.places.filter((place) =>
    place.endsWith('/') ? !existsSync(join(root, place)) : globSync(`${place}*`, { cwd: root }).length === 0,
  )
  expect(unknown).toEqual([])
})

test('a change chooses the tests of its folders, each once, and another chooses none', () => {
  expect(nightlyTestsOf(['README.md', 'envs/os/dataset.ts', 'envs/os/definition.ts'])).toEqual([
    'envs/os/containers/official.nightly.test.ts',
  ])
  expect(nightlyTestsOf(['policy/engines/engine.ts', 'policy/trainer/trainer.ts'])).toEqual([
    'test/peers/foreign-run.nightly.test.ts',
    'test/peers/llama-evaluation.nightly.test.ts',
    'test/peers/pytorch-trainer.nightly.test.ts',
  ])
  expect(nightlyTestsOf(['README.md', 'envs/kg/definition.ts'])).toEqual([])
})

// [TIERS-2]
test('what changed is all that differs from where the branch left main: committed, changed and new files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-tiers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const git = (...words: string[]) => {
    const named = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...words]
    expect(spawnSync('git', named, { cwd: folder, encoding: 'utf8' }).stderr).not.toMatch(/^(fatal|error)/m)
  }
  const commit = (file: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), file)
    git('add', '.')
    git('commit', '-q', '-m', file)
  }
  expect(changedPaths(folder)).toBe(undefined)
  git('init', '-q', '-b', 'main')
  commit('a/one')
  git('checkout', '-q', '-b', 'branch')
  expect(changedPaths(folder)).toEqual([])
  commit('a/two')
  git('checkout', '-q', 'main')
  commit('a/elsewhere')
  git('checkout', '-q', 'branch')
  writeFileSync(join(folder, 'a/one'), 'changed')
  writeFileSync(join(folder, 'a/three'), 'new')
  expect(changedPaths(folder)?.toSorted()).toEqual(['a/one', 'a/three', 'a/two'])
})
