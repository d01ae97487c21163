// An authorization server that others wrote, npm's oidc-provider, in front of the TypeScript SDK's MCP server; prints
// the address of that one.
//
//     oidc_provider.mjs FOLDER SECONDS    FOLDER has node_modules; access tokens hold for SECONDS
//
// Metadata, registration, login, consent, tokens, DPoP nonces and revocation are all the provider's. Ours are the
// settings, the check of a token in front of the MCP server, and its two tools: one needs a second scope.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, seconds] = process.argv.slice(2);
const { resolve } = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { Provider } = await load("oidc-provider");
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");

const server = createServer((req, res) => void answer(req, res));
await new Promise((up) => server.listen(0, "127.0.0.1", up));
const issuer = `http://127.0.0.1:${server.address().port}`;
const resource = `${issuer}/mcp`;
const place = "/.well-known/oauth-protected-resource/mcp";
const lifetime = Number(seconds);

const provider = new Provider(issuer, {
  clientBasedCORS: () => true,
  scopes: ["openid", "offline_access", "tools", "notes"],
  ttl: { AccessToken: lifetime, Grant: 600, IdToken: 60, Interaction: 60, RefreshToken: 600, Session: 600 },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: {
    registration: { enabled: true },
    revocation: { enabled: true, allowedPolicy: () => true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, indicator) => ({
        scope: "tools notes", audience: indicator, accessTokenTTL: lifetime, accessTokenFormat: "opaque",
      }),
    },
  },
});
const oauth = provider.callback();

async function answer(req, res) {
  if (req.url === place) {
    const metadata = { resource, authorization_servers: [issuer], scopes_supported: ["tools"] };
    return res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(metadata));
  }
  if (req.url !== "/mcp") return oauth(req, res);
  const [scheme, value] = (req.headers.authorization ?? "").split(" ");
  const token = value && (await provider.AccessToken.find(value));
  const refuse = (status, more) =>
    res.writeHead(status, { "WWW-Authenticate": `Bearer resource_metadata="${issuer}${place}"${more}` }).end();
  if (!token) return refuse(401, value ? ', error="invalid_token"' : ', scope="tools"');
  if (token.jkt && !(scheme === "DPoP" && req.headers.dpop)) return refuse(401, ', error="invalid_token"');
  let text = "";
  for await (const piece of req) text += piece;
  const body = text ? JSON.parse(text) : undefined;
  if (body?.params?.name === "read_notes" && !token.scopes.has("notes"))
    return refuse(403, ', error="insufficient_scope", scope="notes"');
  const mcp = new McpServer({ name: "notes", version: "1" });
  const says = (words) => () => ({ content: [{ type: "text", text: words }] });
  mcp.registerTool("whoami", { description: "Who is signed in" }, says(`${token.accountId} by ${scheme}`));
  mcp.registerTool("read_notes", { description: "Read the notes" }, says("buy milk"));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  res.on("close", () => { transport.close(); mcp.close(); });
  await mcp.connect(transport);
  await transport.handleRequest(req, res, body);
}

console.log(resource);
