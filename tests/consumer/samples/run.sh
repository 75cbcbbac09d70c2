# Runs the samples in curl that the file `operations` names, and prints their statuses. What one changed is reset.
curl() { command curl -s -o /dev/null -w "$operation %{http_code}\n" "$@"; }
while read -r operation method; do
  . "./$operation.sh"
  [ "$method" = GET ] || command curl -s -X POST "$BASE_URL/sandbox/reset" -H "Authorization: Bearer $TOKEN"
done <operations
