// The browser that tests and pictures share, and where the console is: `scripts/console` says both.

import { createRequire } from "node:module";

export const url = process.env.CONSOLE_URL;
const tools = createRequire(process.env.CONSOLE_TOOLS);
export const axeSource = tools("axe-core").source;

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** In a container Chromium is root and may not make a sandbox; it shows nothing but this program's page. */
export const launch = () =>
  tools("playwright-core").chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

/** A request beside the page, as another program would make it. */
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
