/** Prints the JSON schema of *.branchpoint.json, for the editor. */
import { editorSchema } from '../src/core/config.ts';

process.stdout.write(JSON.stringify(editorSchema(), null, 2));
