/** Prints what a benchmark measured: a line a number, or all of them as one line of JSON. */
export function printResult(result, asJson) {
  if (asJson) console.log(JSON.stringify(result));
  else for (const [name, value] of Object.entries(result)) console.log(`${name} ${value}`);
}
