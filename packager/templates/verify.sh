( set -e
sed 's/^{"payload":"\([^"]*\)".*/\1/' statement.dsse.json \
  | base64 -d > "$WORK/payload"
{ printf 'DSSEv1 28 application/vnd.in-toto+json %d ' \
    "$(wc -c < "$WORK/payload")"; cat "$WORK/payload"; } > "$WORK/signed"
for sig in $(grep -o '"sig":"[^"]*"' statement.dsse.json | cut -d '"' -f 4)
do echo "$sig" | base64 -d > "$WORK/sig"
   if openssl pkeyutl -verify -pubin -inkey "$PUBLISHER" -rawin \
     -in "$WORK/signed" -sigfile "$WORK/sig"; then good=yes; fi
done
test "$good" = yes
sum=$(sha256sum < SHA256SUMS | cut -d ' ' -f 1)
grep -qF '"name":"SHA256SUMS","digest":{"sha256":"'$sum'"}' "$WORK/payload"
sha256sum --check --strict --quiet SHA256SUMS
echo "signed by the publisher, and complete" )
