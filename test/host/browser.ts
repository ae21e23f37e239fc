/**
 * A browser for tests: headless Chromium, where there is one.
 *
 * Invariants
 * - It fetches nothing for itself and calls nothing but the pages that it is sent to.
 * - Where it cannot be had the reason is reported, and with PERDURE_REQUIRE_BROWSER=1 that is a failure.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** Why no browser can be started here; undefined where one can. */
export function browserMissing(): string | undefined {
  const reason =
    executable() === undefined ? 'Chromium is missing (Debian: apt-get install chromium)' : undefined
  if (reason !== undefined && process.env.PERDURE_REQUIRE_BROWSER === '1')
    throw new Error(`tests with a browser must run here, but ${reason}`)
  return reason
}

/** @param executablePath of another program that is started as a browser is */
export function startBrowser(executablePath = browserProgram()): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** The browser that this machine has. @throws Error it has none */
export function browserProgram(): string {
  const found = executable()
  if (found === undefined) throw new Error(browserMissing())
  return found
}

function executable(): string | undefined {
  const folders = (process.env.PATH ?? '').split(':')
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file))
}
