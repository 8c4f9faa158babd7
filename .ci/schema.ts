/** Prints the JSON schema of *.branchpoint.json, for the editor. */
import { jsonSchema } from '../src/core/config.ts';

process.stdout.write(JSON.stringify(jsonSchema(), null, 2));
