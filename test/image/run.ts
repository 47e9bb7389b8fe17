// npm run test:image: tests the image where one can be built, and says so where none can.

import { findTools } from './buildah.ts'

const obstacle = await findTools()
if (obstacle === undefined) await import('./image.test.ts')
else console.log(`# test:image: nothing was built and nothing was tested: ${obstacle}`)
