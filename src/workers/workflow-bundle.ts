/**
 * The bundle of workflow code that workers run in the sandbox.
 *
 * Invariants
 * - It is built once per process, from the very form (sources or built files) that the process itself runs.
 */
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker'

let bundle: Promise<WorkflowBundleWithSourceMap> | undefined

/** The bundle of all workflows. */
export function workflowBundle(): Promise<WorkflowBundleWithSourceMap> {
  bundle ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL(`../workflows/bundle${extname(import.meta.url)}`, import.meta.url)),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
  })
  return bundle
}
