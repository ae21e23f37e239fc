/** The page of `perdure ui`: draws the view that the address names, and listens to the server. */
import { render } from 'preact'
import { Frame } from './frame.tsx'
import { listen } from './live.ts'

const mount = document.getElementById('page')
if (mount === null) throw new Error('index.html has no element #page')
render(<Frame />, mount)
listen()
