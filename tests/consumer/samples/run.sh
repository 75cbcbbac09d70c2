# Runs the samples in curl that the file `operations` names, and prints their statuses. Resets the sandbox after each
# change, so that every sample succeeds with the fixtures alone; the samples in other languages send the same requests.
curl() { command curl -s -o /dev/null -w "$operation %{http_code}\n" "$@"; }
while read -r operation method; do
  . "./$operation.sh"
  [ "$method" = GET ] || command curl -s -X POST "$BASE_URL/sandbox/reset" -H "Authorization: Bearer $TOKEN"
done <operations
