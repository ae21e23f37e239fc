/** The way to a piece of work in the Temporal UI, while one answers. */
import type { FunctionComponent } from 'preact'

export const WorkflowLink: FunctionComponent<{ to: string | undefined }> = ({ to }) =>
  to === undefined ? null : (
    <a class="button" href={to} target="_blank" rel="noreferrer">
      Workflow <span aria-hidden="true">↗</span>
    </a>
  )
