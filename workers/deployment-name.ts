/**
 * Names of a deployment and its builds, as the server has them.
 */
import { type HomeName, ownServer } from '../identity/identity.ts'

/** The name under which the server knows all builds that work for a home. */
export function deploymentName(home: HomeName): string {
  return home === ownServer ? 'perdure' : `perdure-${home}`
}

/** What the server calls a build where it lists workflows. */
export function listedBuild(deployment: string, build: string): string {
  return `${deployment}:${build}`
}
