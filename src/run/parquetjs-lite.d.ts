/** The part of parquetjs-lite that writes, as we use it. */
declare module 'parquetjs-lite' {
  import type { Writable } from 'node:stream';

  export interface Column {
    type?: string;
    optional?: boolean;
    repeated?: boolean;
    /** UNCOMPRESSED, GZIP or SNAPPY. */
    compression?: string;
    /** False where no smallest and largest value is kept. */
    statistics?: boolean;
    fields?: Record<string, Column>;
  }

  export interface Writer {
    appendRow(row: object): Promise<void>;
    /** Rows that are written together. */
    setRowGroupSize(rows: number): void;
    close(): Promise<void>;
  }

  const parquet: {
    ParquetSchema: new (columns: Record<string, Column>) => object;
    ParquetWriter: {
      openFile(schema: object, path: string): Promise<Writer>;
      openStream(
        schema: object,
        stream: Writable,
        options: { useDataPageV2?: boolean; pageSize?: number },
      ): Promise<Writer>;
    };
  };
  export default parquet;
}
