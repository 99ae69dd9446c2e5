/** What email.message of Python 3 writes for send-mail.py, for machines without Python. */
export const pythonLines = (from: string): Buffer =>
  Buffer.from(
    `Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= {{name}}
From: =?utf-8?q?J=C3=B6rg_M=C3=BCller?= <${from}>
To: Ada <python@example.org>
X-Order: 4711
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="===============6487809335068013242=="

--===============6487809335068013242==
Content-Type: multipart/alternative;
 boundary="===============5953222021874164535=="

--===============5953222021874164535==
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: 8bit

Caf\xc3\xa9 {{plan}} costs 5 \xe2\x82\xac
.leading dot

--===============5953222021874164535==
MIME-Version: 1.0
Content-Type: multipart/related;
 boundary="===============4280338605401759487=="

--===============4280338605401759487==
Content-Type: text/html; charset="iso-8859-1"
Content-Transfer-Encoding: 8bit

<p>Caf\xe9 <b>{{{raw}}}</b> <img src="cid:logo@x"></p>

--===============4280338605401759487==
Content-Type: image/png
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="logo.png"
Content-ID: <logo@x>
MIME-Version: 1.0

iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ

--===============4280338605401759487==--

--===============5953222021874164535==--

--===============6487809335068013242==
Content-Type: application/octet-stream
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename*=utf-8''%C3%A4ll.bin
MIME-Version: 1.0

AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4
OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3Bx
cnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmq
q6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj
5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhsc
HR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFFSU1RV
VldYWVpbXF1eX2BhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ent8fX5/gIGCg4SFhoeIiYqLjI2O
j5CRkpOUlZaXmJmam5ydnp+goaKjpKWmp6ipqqusra6vsLGys7S1tre4ubq7vL2+v8DBwsPExcbH
yMnKy8zNzs/Q0dLT1NXW19jZ2tvc3d7f4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8A
AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5
Ojs8PT4/QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl9gYWJjZGVmZ2hpamtsbW5vcHFy
c3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTlJWWl5iZmpucnZ6foKGio6Slpqeoqaqr
rK2ur7CxsrO0tba3uLm6u7y9vr/AwcLDxMXGx8jJysvMzc7P0NHS09TV1tfY2drb3N3e3+Dh4uPk
5ebn6Onq6+zt7u/w8fLz9PX29/j5+vv8/f7/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd
Hh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVW
V1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6P
kJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfI
ycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==

--===============6487809335068013242==
Content-Type: text/calendar; charset="utf-8"
Content-Transfer-Encoding: 7bit
Content-Disposition: attachment; filename="invite.ics"
MIME-Version: 1.0

BEGIN:VCALENDAR
END:VCALENDAR

--===============6487809335068013242==--
`.replaceAll('\n', '\r\n'),
    'latin1',
  )
