// The browser for tests and pictures, and the console's URL. `scripts/console` sets both.

import { createRequire } from "node:module";

export const url = process.env.CONSOLE_URL;
const tools = createRequire(process.env.CONSOLE_TOOLS);
export const axeSource = tools("axe-core").source;

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** In a container Chromium runs as root and cannot make a sandbox. It opens only this program's page. */
export const launch = () =>
  tools("playwright-core").chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

/** Sends a request to the API, as another program would. */
export async function api(method, path, body, { token = "dev", headers = {}, url: at = url } = {}) {
  const response = await fetch(at + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers },
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return { data: text && JSON.parse(text), etag: response.headers.get("ETag") };
}

export const post = async (name, event, options) =>
  (await api("POST", `/topics/${name}/events`, event, options)).data;
