// The API at another origin, for the tests of connections to a deployed stack.

import http from "node:http";

import { url } from "./browser.mjs";

/**
 * The API at another origin, as API Gateway serves it: with CORS, and without the local routes. `streams` are its live routes,
 * which a deployed stack has at another address. Without `waits`, the API has no pages that wait either.
 */
export async function elsewhere(t, { streams = false, waits = false } = {}) {
  const target = new URL(url);
  const server = http.createServer((request, response) => {
    const allow = {
      "Access-Control-Allow-Origin": request.headers.origin ?? "*",
      "Access-Control-Allow-Headers": "authorization, content-type, if-match, idempotency-key",
      "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
      "Access-Control-Expose-Headers": "lately-cost, etag",
    };
    if (request.method === "OPTIONS") return response.writeHead(204, allow).end();
    const { pathname, searchParams } = new URL(request.url, target);
    if (pathname.startsWith("/local/") || (!streams && pathname.endsWith("/live")))
      return response.writeHead(404, allow).end('{"message":"Not Found"}');
    if (!waits && searchParams.has("wait")) return response.writeHead(400, allow).end('{"code":"invalid-query","errors":[{"path":"/wait"}]}');
    const { origin, referer, ...headers } = request.headers;
    const onward = http.request(
      {
        host: target.hostname,
        port: target.port,
        path: request.url,
        method: request.method,
        headers: { ...headers, host: target.host },
      },
      (answer) => {
        response.writeHead(answer.statusCode, { ...answer.headers, ...allow });
        answer.pipe(response);
        response.on("close", () => answer.destroy());
      },
    );
    request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${server.address().port}`;
}
