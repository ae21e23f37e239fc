/** A default start loads nothing of the features that it does not use. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { removeHome, startPerdureIn, temporaryHome } from '../support/perdure-process.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

// [REMOTE-TASK-1] [HARBOR-DEFINITION-1]
it('a default run loads no chat templates of models, no engine over servers and no environment behind one', async () => {
  const [hook, loaded] = [join(home, 'hook.mjs'), join(home, 'loaded')]
  writeFileSync(
    hook,
    `import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    appendFileSync(${JSON.stringify(loaded)}, url + '\\n')
    return next(url, context)
  },
})
`,
  )
  const values = [
    'training.updates=0',
    'warmStart.demonstrations=4',
    'warmStart.epochs=1',
    'evaluation.suites.0.episodes=2',
    'policy.hiddenSize=16',
    'policy.intermediateSize=16',
    'policy.layers=1',
  ]
  const set = values.flatMap((value) => ['--set', value])
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(hook)}` }
  const { code, stderr } = await startPerdureIn(env, home, 'train', '--run', 'plain', '--no-cache', ...set)
    .ended
  expect(code, stderr).toBe(0)
  expect(existsSync(loaded)).toBe(true)
  const urls = readFileSync(loaded, 'utf8').split('\n')
  expect(urls.some((url) => url.endsWith('/policy/embedded-engine/embedded.ts'))).toBe(true)
  const unused =
    /@huggingface\/jinja|@modelcontextprotocol|\/policy\/(served|dialects)\/|\/envs\/(remote|mcp)\//
  expect(urls.filter((url) => unused.test(url))).toEqual([])
}, 120_000)
