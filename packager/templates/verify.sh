set -e
sed 's/^{"payload":"\([^"]*\)".*/\1/' statement.dsse.json \
  | base64 -d > "$WORK/payload"
{ printf 'DSSEv1 28 application/vnd.in-toto+json %d ' \
    "$(wc -c < "$WORK/payload")"; cat "$WORK/payload"; } > "$WORK/signed"
for sig in $(grep -o '"sig":"[^"]*"' statement.dsse.json | cut -d '"' -f 4); do
  echo "$sig" | base64 -d > "$WORK/sig"
  if openssl pkeyutl -verify -pubin -inkey "$PUBLISHER" -rawin \
    -in "$WORK/signed" -sigfile "$WORK/sig"; then good=yes; fi
done
test "$good" = yes
grep -q "\"sha256\":\"$(sha256sum < SHA256SUMS | cut -d ' ' -f 1)\"" \
  "$WORK/payload"
sha256sum --check --strict SHA256SUMS
