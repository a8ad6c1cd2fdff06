#!/bin/sh
# Makes container/secrets/ for a first start: roles, the sign-in's secrets, databases, a certificate of one's own.
# What is there already stays. For a trial on this machine; docs/container.md says what to change before real data.
#
#   container/secrets.sh [HOST]         HOST: the name that browsers use, localhost by default
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
host=${1:-localhost}
umask 077
mkdir -p "$here/secrets"
cd "$here/secrets"
random() { head -c 24 /dev/urandom | base64 | tr -d '+/=\n'; }

[ -e roles.toml ] || cat >roles.toml <<END
[roles]
steward = ["ann@example.org"]
reviewer = ["bob@example.org"]
analyst = ["carl@example.org"]

[approval]
epsilon_above = 1.0

[budget]
max_epsilon = 3.0
END
[ -e signin.toml ] || cat >signin.toml <<END
[auth]
redirect_uri = "https://$host/oauth2callback"
cookie_secret = "$(random)"
client_id = "facsimile"
client_secret = "client-secret-of-the-test"
server_metadata_url = "http://provider:9000/.well-known/openid-configuration"
END
[ -e sources.toml ] || echo '# [census]
# address = "postgres://steward@db.example/census"
# password_file = "/run/secrets/database"' >sources.toml
[ -e database ] || : >database
if [ ! -e key.pem ]; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj "/CN=$host" -addext "subjectAltName=DNS:$host" \
        -keyout key.pem -out certificate.pem 2>/dev/null
fi
# the application's user reads its four; without root, say so
chown 10001 roles.toml signin.toml sources.toml database 2>/dev/null ||
    echo "secrets.sh: let user 10001 read them: sudo chown 10001 roles.toml signin.toml sources.toml database"
echo "made in $here/secrets"
